"""Runs code for a context: requests come over descriptor 0 as `ID LIMIT\\nCODE\\0`, and lines of JSON go back.

What the code prints goes to its own stdout and stderr. LIMIT is how much of a text goes into a line, in bytes.
"""


def main():
    import ast
    import asyncio
    import base64
    import inspect
    import io
    import json
    import linecache
    import os
    import platform
    import signal
    import sys
    import traceback
    import types

    MAX_IMAGE_BYTES = 5 << 20
    MAX_IMAGES = 16
    IMAGE_METHODS = (
        ("_repr_png_", "image/png"),
        ("_repr_jpeg_", "image/jpeg"),
        ("_repr_svg_", "image/svg+xml"),
    )

    # Nothing that the code starts or reads is to find our requests.
    control = os.dup(0)
    os.set_inheritable(control, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    own_pid = os.getpid()

    module = types.ModuleType("__main__")
    module.__builtins__ = __builtins__
    sys.modules["__main__"] = module
    sys.argv = [""]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")

    loop = None

    def ignore_interrupt(number, frame):
        """Between executions there is nobody to interrupt; yet what is started then hears it."""

    def send(**fields):
        data = json.dumps(fields).encode() + b"\n"
        while data:
            data = data[os.write(control, data):]

    def frames():
        pending = b""
        while True:
            end = pending.find(b"\0")
            if end >= 0:
                yield pending[:end]
                pending = pending[end + 1:]
                continue
            piece = os.read(control, 1 << 16)
            if not piece:
                return
            pending += piece

    def cut(text, limit):
        """What of TEXT has room, and how many bytes it had."""
        data = text.encode("utf-8", "backslashreplace")
        if len(data) <= limit:
            return data.decode("utf-8"), len(data)
        head, tail = data[: limit // 2], data[len(data) - (limit - limit // 2):]
        note = "\n[... %d bytes omitted ...]\n" % (len(data) - limit)
        return head.decode("utf-8", "ignore") + note + tail.decode("utf-8", "ignore"), len(data)

    def send_image(number, mime, data):
        if isinstance(data, str):
            data = data.encode()
        if len(data) > MAX_IMAGE_BYTES:
            send(id=number, image_too_large=len(data))
        else:
            send(id=number, image={"mime": mime, "data": base64.b64encode(data).decode()})

    def send_figures(number):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for figure in pyplot.get_fignums()[:MAX_IMAGES]:
            data = io.BytesIO()
            pyplot.figure(figure).savefig(data, format="png")
            send_image(number, "image/png", data.getvalue())
        pyplot.close("all")

    def image_of(value):
        if isinstance(value, type):
            return None
        for method, mime in IMAGE_METHODS:
            show = getattr(value, method, None)
            data = show() if callable(show) else None
            if isinstance(data, tuple) and data:
                data = data[0]
            if isinstance(data, (bytes, str)) and data:
                return mime, data
        return None

    def send_value(number, value, limit):
        if value is None:
            return
        module._ = value
        image = image_of(value)
        if image:
            send_image(number, *image)
        text, size = cut(repr(value), limit)
        send(id=number, result=text, result_bytes=size)

    def evaluate(tree, kind, name):
        nonlocal loop
        code = compile(tree, name, kind, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        value = eval(code, module.__dict__)
        if code.co_flags & inspect.CO_COROUTINE and inspect.iscoroutine(value):
            if loop is None or loop.is_closed():
                loop = asyncio.new_event_loop()
                asyncio.set_event_loop(loop)
            value = loop.run_until_complete(value)
        return value

    def execute(source, name, number, limit):
        tree = compile(source, name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        if tree.body:
            evaluate(tree, "exec", name)
        if last is not None:
            send_value(number, evaluate(ast.Expression(last.value), "eval", name), limit)
        send_figures(number)

    def own_frames_off(entry):
        """The traceback from the code's first frame on."""
        while entry is not None and not entry.tb_frame.f_code.co_filename.startswith("<execution "):
            entry = entry.tb_next
        return entry

    def send_error(number, error, limit):
        kind = type(error)
        try:
            trace = own_frames_off(error.__traceback__)
            text = "".join(traceback.format_exception(kind, error, trace))
        except BaseException as failure:  # a __str__ of the code's own, or no stack left
            text = "%s (and no traceback: %s)\n" % (kind.__name__, type(failure).__name__)
        try:
            message = str(error)
        except BaseException:
            message = ""
        send(
            id=number,
            error={
                "name": kind.__name__,
                "message": cut(message, 1000)[0],
                "traceback": cut(text, max(limit, 1000))[0],
            },
        )

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass

    def serve(number, limit, source):
        name = "<execution %d>" % number
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        exit_code = None
        try:
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                send(id=number, begun=True)
                execute(source, name, number, limit)
            finally:
                signal.signal(signal.SIGINT, ignore_interrupt)
        except SystemExit as request:
            code = request.code
            exit_code = 0 if code is None else code if isinstance(code, int) else 1
            if code is not None and not isinstance(code, int):
                print(code, file=sys.stderr)
        except BaseException as error:
            if os.getpid() == own_pid:
                send_error(number, error, limit)
            else:
                traceback.print_exc()
        flush()
        if os.getpid() != own_pid:  # a fork of the code's, at its end
            os._exit(0 if exit_code is None else exit_code & 255)
        done = {} if exit_code is None else {"exit_code": exit_code}
        send(id=number, done=True, **done)

    signal.signal(signal.SIGINT, ignore_interrupt)
    send(hello=platform.python_version())
    for frame in frames():
        head, _, source = frame.partition(b"\n")
        number, limit = (int(word) for word in head.split())
        serve(number, limit, source.decode("utf-8", "replace"))


main()
