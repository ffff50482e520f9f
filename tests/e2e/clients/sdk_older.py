"""The MCP SDK before its second version, over `ssh`: sdk_older.py COMMAND..."""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(command):
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        greeting = await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool("shell_exec", {"command": "echo from the sdk"})
        print(
            json.dumps(
                {
                    "protocol": greeting.protocolVersion,
                    "tools": [tool.name for tool in tools.tools],
                    "stdout": result.structuredContent["stdout"],
                }
            )
        )


asyncio.run(asyncio.wait_for(main(sys.argv[1:]), 60))
