// Runs code for a context: requests come over descriptor 3 as `ID LIMIT\nCODE\0`, and lines of JSON
// go back. What the code prints goes to its own stdout and stderr. LIMIT is how much of a text goes
// into a line, in bytes.
'use strict';
(() => {
  const inspector = require('inspector');
  const net = require('net');
  const util = require('util');
  const vm = require('vm');
  const { createRequire } = require('module');

  const control = new net.Socket({ fd: 3, readable: true, writable: true });
  const send = (fields) => control.write(JSON.stringify(fields) + '\n');

  // As a person types it: names may be declared again, and await stands anywhere.
  const session = new inspector.Session();
  session.connect();

  let work = null;
  globalThis.__agentbox = () => work();
  const entry = new vm.Script('__agentbox()', { filename: 'agentbox-driver' });
  // Runs FUNCTION so that SIGINT ends it, whatever it does.
  const guarded = (task) => {
    work = task;
    entry.runInThisContext({ breakOnSigint: true });
  };
  Object.defineProperty(globalThis, '__agentbox', { enumerable: false });

  const cut = (text, limit) => {
    const data = Buffer.from(text);
    if (data.length <= limit) return [text, data.length];
    const half = Math.floor(limit / 2);
    const clean = (piece) => piece.toString().replace(/^\uFFFD+|\uFFFD+$/g, '');
    const note = `\n[... ${data.length - limit} bytes omitted ...]\n`;
    const tail = data.subarray(data.length - (limit - half));
    return [clean(data.subarray(0, half)) + note + clean(tail), data.length];
  };

  let current = null; // the execution that is not done
  const finish = (execution) => {
    if (current !== execution) return;
    current = null;
    send({ id: execution.id, done: true });
  };

  const own = (line) => /agentbox-driver|node:inspector|node:vm|\(\[eval\]|at \[eval\]/.test(line);
  const fail = (execution, name, message, trace) => {
    if (current !== execution) return;
    const lines = String(trace).split('\n');
    const end = lines.findIndex((line) => /^\s+at /.test(line) && own(line));
    let text = (end < 0 ? lines : lines.slice(0, end)).join('\n') + '\n';
    if (text.includes('ERR_VM_DYNAMIC_IMPORT')) text += 'Write importModule(NAME) for import(NAME) here.\n';
    send({
      id: execution.id,
      error: {
        name: cut(String(name), 100)[0],
        message: cut(String(message), 1000)[0],
        traceback: cut(text, Math.max(execution.limit, 1000))[0],
      },
    });
    finish(execution);
  };
  const interrupt = (execution) => {
    fail(execution, 'Interrupted', 'the execution was interrupted', 'Interrupted: by SIGINT');
  };

  const failed = (execution, details) => {
    const thrown = details.exception || {};
    const described = thrown.description ?? String(thrown.value ?? details.text);
    const first = described.split('\n')[0];
    const found = /^([A-Za-z_$][\w$.]*)(?: \[[^\]]*\])?: ?(.*)$/.exec(first);
    const isError = thrown.subtype === 'error';
    const name = isError ? (found ? found[1] : thrown.className) : 'Uncaught';
    const place = name === 'SyntaxError' ? `${execution.name}:${details.lineNumber + 1}\n` : '';
    const message = isError && found ? found[2] : first;
    fail(execution, name, message, place + (isError ? '' : 'Uncaught ') + described);
  };

  // The value itself is only to be had inside a function that the inspector calls.
  const asArgument = (value) => {
    if (value.objectId) return { objectId: value.objectId };
    if (value.unserializableValue) return { unserializableValue: value.unserializableValue };
    return { value: value.value };
  };
  let shown = null;
  globalThis.__agentbox_show = (value) => {
    globalThis._ = value;
    shown = util.inspect(value);
  };
  let helper = null;
  session.post('Runtime.evaluate', { expression: 'globalThis.__agentbox_show' }, (error, answer) => {
    helper = answer.result.objectId;
  });
  delete globalThis.__agentbox_show;
  const showValue = (execution, value) => {
    if (value.type === 'undefined') return;
    shown = null;
    guarded(() => {
      session.post(
        'Runtime.callFunctionOn',
        {
          objectId: helper,
          functionDeclaration: 'function(value) { this(value); }',
          arguments: [asArgument(value)],
          silent: true,
        },
        () => {},
      );
    });
    if (shown === null) shown = value.description ?? String(value.value);
    const [text, size] = cut(shown, execution.limit);
    send({ id: execution.id, result: text, result_bytes: size });
  };

  // `{a: 1}` means the object, as at any prompt.
  const readable = (code) => {
    if (/^\s*\{/.test(code) && /\}\s*$/.test(code)) {
      try {
        new vm.Script(`(${code}\n)`);
        return `(${code}\n)`;
      } catch {
        // a block, then
      }
    }
    return code;
  };

  const settled = (execution, error, answer) => {
    if (current !== execution) return;
    if (error) return fail(execution, 'Error', error.message, `Error: ${error.message}`);
    if (answer.exceptionDetails) return failed(execution, answer.exceptionDetails);
    try {
      showValue(execution, answer.result);
    } catch {
      return interrupt(execution);
    }
    finish(execution);
  };

  const execute = (id, limit, code) => {
    const execution = { id, limit, name: `execution-${id}` };
    current = execution;
    send({ id, begun: true });
    const parameters = {
      expression: `${readable(code)}\n//# sourceURL=${execution.name}`,
      replMode: true,
      awaitPromise: true,
      silent: true,
    };
    try {
      guarded(() => {
        session.post('Runtime.evaluate', parameters, (error, answer) => {
          // Not within the code's own stack: what is done with the value may be interrupted too.
          setImmediate(() => settled(execution, error, answer));
        });
      });
    } catch {
      interrupt(execution);
    }
  };

  process.on('SIGINT', () => {
    if (current) interrupt(current);
  });
  // Of a callback that runs on by itself: nobody waits for it, and the state is kept.
  process.on('uncaughtException', (error) => {
    process.stderr.write(`Uncaught, outside of an execution: ${util.inspect(error)}\n`);
  });

  globalThis.require = createRequire(process.cwd() + '/');
  // What the inspector evaluates cannot import by itself.
  const warn = process.emitWarning;
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER')) warn.call(process, warning, ...rest);
  };
  globalThis.importModule = vm.runInThisContext('(name) => import(name)', {
    importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  for (const name of ['module', 'exports', '__filename', '__dirname']) delete globalThis[name];

  let pending = [];
  control.on('data', (piece) => {
    for (let end = piece.indexOf(0); end >= 0; end = piece.indexOf(0)) {
      const frame = Buffer.concat([...pending, piece.subarray(0, end)]).toString();
      pending = [];
      piece = piece.subarray(end + 1);
      const newline = frame.indexOf('\n');
      const [id, limit] = frame.slice(0, newline).split(' ').map(Number);
      execute(id, limit, frame.slice(newline + 1));
    }
    if (piece.length) pending.push(piece);
  });
  control.on('end', () => process.exit(0));
  control.on('error', () => process.exit(0));
  send({ hello: process.versions.node });
})();
