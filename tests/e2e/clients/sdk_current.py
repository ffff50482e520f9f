"""The MCP SDK of today over `ssh`: sdk_current.py MODE COMMAND..., MODE as mcp.Client takes it."""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main(mode, command):
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool("shell_exec", {"command": "echo from the sdk"})
        print(
            json.dumps(
                {
                    "protocol": client.protocol_version,
                    "tools": [tool.name for tool in tools.tools],
                    "stdout": result.structured_content["stdout"],
                }
            )
        )


asyncio.run(asyncio.wait_for(main(sys.argv[1], sys.argv[2:]), 60))
