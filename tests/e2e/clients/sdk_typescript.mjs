// The TypeScript MCP SDK over `ssh`: sdk_typescript.mjs FOLDER MODE COMMAND...
// FOLDER is where npm installed it; MODE is "first" for the SDK's first line (its own package), else how the
// second negotiates: "default", "auto", or a revision to pin.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, mode, program, ...words] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

async function connect() {
  const first = mode === "first";
  const { Client } = await load(first ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
  const { StdioClientTransport } = await load(
    first ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio",
  );
  const negotiation = { first: undefined, default: undefined, auto: { mode: "auto" } };
  const versionNegotiation = mode in negotiation ? negotiation[mode] : { mode: { pin: mode } };
  const client = new Client({ name: "e2e", version: "1" }, versionNegotiation ? { versionNegotiation } : {});
  await client.connect(new StdioClientTransport({ command: program, args: words, stderr: "inherit" }));
  return client;
}

const client = await connect();
const { tools } = await client.listTools();
const result = await client.callTool({ name: "shell_exec", arguments: { command: "echo from the sdk" } });
const protocol = client.getNegotiatedProtocolVersion?.() ?? client.transport?.protocolVersion ?? null;
console.log(
  JSON.stringify({ protocol, tools: tools.map((tool) => tool.name), stdout: result.structuredContent.stdout }),
);
await client.close();
