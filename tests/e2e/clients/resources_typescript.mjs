// Resources, prompts and completion through the TypeScript MCP SDK: resources_typescript.mjs FOLDER MODE COMMAND...
// FOLDER and MODE as in sdk_typescript.mjs.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, mode, program, ...words] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const first = mode === "first";

const { Client } = await load(first ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const { StdioClientTransport } = await load(
  first ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio",
);
const negotiation = { first: undefined, default: undefined, auto: { mode: "auto" } };
const versionNegotiation = mode in negotiation ? negotiation[mode] : { mode: { pin: mode } };
const client = new Client({ name: "e2e", version: "1" }, versionNegotiation ? { versionNegotiation } : {});
await client.connect(new StdioClientTransport({ command: program, args: words, stderr: "inherit" }));

let hear;
const heard = new Promise((resolve) => (hear = resolve));
const updated = first
  ? (await load("@modelcontextprotocol/sdk/types.js")).ResourceUpdatedNotificationSchema
  : "notifications/resources/updated";
client.setNotificationHandler(updated, (notification) => hear(notification.params.uri));

const write = (content) =>
  client.callTool({ name: "write_file", arguments: { path: "seen by the sdk.txt", content } });
const missing = (uri) => client.readResource({ uri }).then(() => null, (error) => error.code);

await write("one");
const { resources } = await client.listResources();
const { uri } = resources.find((one) => one.name === "seen by the sdk.txt");
const { resourceTemplates } = await client.listResourceTemplates();
const protocol = client.getNegotiatedProtocolVersion?.() ?? client.transport?.protocolVersion ?? null;
if (protocol >= "2026") {
  await client.listen({ resourceSubscriptions: [uri] });
} else {
  await client.subscribeResource({ uri });
}
await write("two");
const told = await heard;
const read = (await client.readResource({ uri })).contents[0].text;
const prompt = await client.getPrompt({ name: "debug_failing_command", arguments: { command: "make" } });
const { completion } = await client.complete({
  ref: { type: "ref/resource", uri: resourceTemplates[0].uriTemplate },
  argument: { name: "path", value: uri.slice("file:///".length, -3) },
});
console.log(
  JSON.stringify({
    protocol,
    uri,
    told,
    read,
    templates: resourceTemplates.map((one) => one.uriTemplate),
    prompts: (await client.listPrompts()).prompts.map((one) => one.name),
    prompt: prompt.messages[0].content.text,
    completed: completion.values,
    missing: await missing("file:///etc/passwd"),
  }),
);
await client.close();
