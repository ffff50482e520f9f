// A client of the door on npm's ssh2: does what clients do and says as JSON what came of it.
//
//   ssh2_client.js HOST PORT USER KEY WRONG-KEY KNOWN-HOSTS      (NODE_PATH has ssh2)
'use strict';
const fs = require('fs');
const { Client } = require('ssh2');

const PIECE_BYTES = 256000;
const PIECES = 20;
const words = process.argv.slice(2);
const pinned = Buffer.from(fs.readFileSync(words[5], 'utf8').trim().split(' ')[2], 'base64');

function connect(key) {
  return new Promise((resolve, reject) => {
    const client = new Client();
    client.on('ready', () => resolve(client)).on('error', reject);
    client.connect({
      host: words[0], port: Number(words[1]), username: words[2], privateKey: fs.readFileSync(key),
      hostVerifier: (offered) => offered.equals(pinned), readyTimeout: 30000,
    });
  });
}

class Session {
  constructor(channel) {
    this.channel = channel;
    this.text = '';
    this.waiting = null;
    this.ended = false;
    this.next = 0;
    this.status = new Promise((resolve) => channel.on('exit', resolve));
    this.closed = new Promise((resolve) => channel.on('close', resolve));
    channel.stderr.resume();
    channel.setEncoding('utf8');
    channel.on('data', (data) => { this.text += data; this.wake(); });
    channel.on('end', () => { this.ended = true; this.wake(); });
  }
  wake() { if (this.waiting) { const wake = this.waiting; this.waiting = null; wake(); } }
  async line() {
    for (;;) {
      const end = this.text.indexOf('\n');
      if (end >= 0) {
        const line = this.text.slice(0, end);
        this.text = this.text.slice(end + 1);
        return line;
      }
      if (this.ended) throw new Error('the session ended');
      await new Promise((resolve) => { this.waiting = resolve; });
    }
  }
  say(message) { this.channel.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n'); }
  start(method, params) { this.say({ id: ++this.next, method, params }); }
  call(name, args) { this.start('tools/call', { name, arguments: args }); }
  async reply() { return JSON.parse(await this.line()).result; }
  async structured() { return (await this.reply()).structuredContent; }
  async greet() {
    this.start('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'ssh2', version: '1' } });
    const { name } = (await this.reply()).serverInfo;
    this.say({ method: 'notifications/initialized' });
    return name;
  }
  async finish() {
    this.channel.end();
    await this.closed;
    return [this.text.trim().split('\n'), await this.status];
  }
}

function open(client, how) {
  return new Promise((resolve, reject) => {
    const done = (error, channel) => (error ? reject(error) : resolve(new Session(channel)));
    if (how === 'exec') client.exec('touch /tmp/agentbox-ssh2-client', done);
    else if (how === 'shell') client.shell(false, done);
    else client.subsys('mcp', done);
  });
}

const piece = (number) => (String(number).padStart(7, '0') + '\n').repeat(PIECE_BYTES / 8);
const rekey = (client) => new Promise((resolve) => { client.once('handshake', resolve); client._protocol.rekey(); });

// A new key exchange in the middle of each second transfer: about one for each MB.
async function transfer(client) {
  const session = await open(client, 'exec');
  await session.greet();
  let different = 0;
  for (let number = 0; number < PIECES; number++) {
    session.call('write_file', { path: 'ssh2.txt', content: piece(number) });
    const exchanged = number % 2 ? rekey(client) : null;
    await session.structured();
    await exchanged;
    session.call('read_file', { path: 'ssh2.txt', limit: PIECE_BYTES });
    const again = number % 2 ? null : rekey(client);
    if ((await session.structured()).content !== piece(number)) different++;
    await again;
  }
  return { pieces: PIECES, different, status: (await session.finish())[1] };
}

async function slowReader(client) {
  const session = await open(client, 'exec');
  await session.greet();
  session.call('write_file', { path: 'ssh2.txt', content: piece(1) });
  await session.structured();
  session.channel.pause();
  for (let i = 0; i < 12; i++) session.call('read_file', { path: 'ssh2.txt', limit: PIECE_BYTES });
  await new Promise((resolve) => setTimeout(resolve, 1000)); // a reader that pauses is what is tested
  session.channel.resume();
  let whole = 0;
  for (let i = 0; i < 12; i++) if ((await session.structured()).content === piece(1)) whole++;
  await session.finish();
  return whole;
}

async function channels(client) {
  const sessions = await Promise.all(Array.from({ length: 12 }, () => open(client, 'exec')));
  const names = await Promise.all(sessions.map((session) => session.greet()));
  await Promise.all(sessions.map((session) => session.finish()));
  return names.filter((name) => name === 'agent-box').length;
}

async function halfClose(client) {
  const session = await open(client, 'exec');
  await session.greet();
  session.call('shell_exec', { command: 'sleep 1; echo late' });
  const [lines, status] = await session.finish();
  return { late: lines[lines.length - 1].includes('late'), status };
}

async function notMcp(client) {
  const session = await open(client, 'exec');
  session.channel.write('hello\n'.repeat(10));
  return (await session.finish())[1];
}

async function main() {
  const client = await connect(words[3]);
  const said = { version: client._remoteVer };
  for (const how of ['exec', 'shell', 'subsystem']) {
    const session = await open(client, how);
    said[how] = await session.greet();
    await session.finish();
  }
  said.channels = await channels(client);
  said.transfer = await transfer(client);
  said.half_close = await halfClose(client);
  said.not_mcp = await notMcp(client);
  said.slow_reader = await slowReader(client);
  said.keepalive = await new Promise((resolve) => {
    client._protocol.ping();
    client._callbacks.push(() => resolve(true));
  });
  client.end();
  said.wrong_key = await connect(words[4]).then(() => false, (error) => error.level === 'client-authentication');
  console.log(JSON.stringify(said));
  process.exit(0);
}

main().catch((error) => { console.error(error); process.exit(1); });
