"""Resources, prompts and completion through the MCP SDK of today: resources_current.py MODE COMMAND..."""
import asyncio
import json
import sys

import mcp_types as types
from mcp import Client, StdioServerParameters


async def told_of(client, uri, updates, change):
    """What the client hears of URI once CHANGE has been made, in either era."""
    if client.protocol_version >= "2026":
        async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as subscription:
            await change()
            async for event in subscription:
                if getattr(event, "uri", None) == uri:
                    return event.uri
    await client.subscribe_resource(uri)
    await change()
    return await updates.get()


async def main(mode, command):
    updates = asyncio.Queue()

    async def on_message(message):
        if isinstance(message, types.ResourceUpdatedNotification):
            await updates.put(str(message.params.uri))

    server = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(server, mode=mode, message_handler=on_message) as client:

        async def write(content):
            await client.call_tool("write_file", {"path": "seen by the sdk.txt", "content": content})

        await write("one")
        listed = (await client.list_resources()).resources
        (uri,) = [str(one.uri) for one in listed if one.name == "seen by the sdk.txt"]
        templates = (await client.list_resource_templates()).resource_templates
        told = await told_of(client, uri, updates, lambda: write("two"))
        read = (await client.read_resource(uri)).contents[0].text
        prompt = await client.get_prompt("debug_failing_command", {"command": "make"})
        completed = await client.complete(
            types.ResourceTemplateReference(type="ref/resource", uri=templates[0].uri_template),
            {"name": "path", "value": uri.removeprefix("file:///")[:-3]},
        )
        try:
            await client.read_resource("file:///etc/passwd")
            missing = None
        except Exception as error:  # its class differs between versions
            missing = getattr(getattr(error, "error", error), "code", None)
        print(
            json.dumps(
                {
                    "protocol": client.protocol_version,
                    "uri": uri,
                    "told": told,
                    "read": read,
                    "templates": [one.uri_template for one in templates],
                    "prompts": [one.name for one in (await client.list_prompts()).prompts],
                    "prompt": prompt.messages[0].content.text,
                    "completed": completed.completion.values,
                    "missing": missing,
                }
            )
        )


asyncio.run(asyncio.wait_for(main(sys.argv[1], sys.argv[2:]), 60))
