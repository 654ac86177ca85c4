"""The tools that every program of the benchmark has, each as the SDK teaches it: a function with types, whose schema the
SDK makes and checks every call against.

`structured_output=False` where the contract wants text and nothing else: the SDK would send a string twice.
"""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel, ConfigDict, Field

STEPS = 10


class Wind(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    speed: float
    origin: Annotated[str, Field(alias="from")]


class Hour(BaseModel):
    hour: int
    celsius: float


class Weather(BaseModel):
    city: str
    celsius: float
    wind: Wind
    hours: list[Hour]


class Address(BaseModel):
    street: str
    city: str
    zip: str


class Customer(BaseModel):
    name: str
    address: Address


class Line(BaseModel):
    sku: str
    quantity: int
    price: float


class Order(BaseModel):
    customer: Customer
    lines: list[Line]


async def echo(message: str) -> str:
    """Says the message back."""
    return message


async def steps(ctx: Context) -> str:
    """Reports ten steps of progress."""
    # Without a token the SDK sends nothing.
    for step in range(1, STEPS + 1):
        await ctx.report_progress(step, STEPS)
    return "done"


async def blob(size: Annotated[int, Field(ge=0)]) -> str:
    """A text of so many bytes."""
    return "x" * size


async def length(text: str) -> str:
    """Counts the bytes of a text."""
    return str(len(text.encode()))


async def weather(city: str) -> Weather:
    """The weather of a city, by the hour."""
    hours = [Hour(hour=hour, celsius=20.5) for hour in range(24)]
    return Weather(city=city, celsius=21.5, wind=Wind(speed=3.5, origin="NW"), hours=hours)


async def take_order(order: Order, note: str | None = None) -> str:
    return "ordered"


def new_server(more: int, log_level: str) -> MCPServer:
    """The server with its tools, and `more` besides."""
    server = MCPServer("python-sdk-bench", version="1.0.0", log_level=log_level)
    for tool in (echo, steps, blob, length):
        server.add_tool(tool, structured_output=False)
    server.add_tool(weather)
    for number in range(more):
        server.add_tool(
            take_order,
            name=f"tool_{number}",
            description=f"Takes an order at counter {number}.",
            structured_output=False,
        )
    return server
