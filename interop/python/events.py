"""The events of streams, kept in memory so that a client can take a stream up again.

Made for runs that last seconds: nothing is ever forgotten.
"""

from __future__ import annotations

from mcp.server.streamable_http import EventMessage, EventStore


class Events(EventStore):
    """All events in order; an event's id is its place."""

    def __init__(self) -> None:
        self.kept: list = []

    async def store_event(self, stream_id, message) -> str:
        self.kept.append((stream_id, message))
        return str(len(self.kept) - 1)

    async def replay_events_after(self, last_event_id, send_callback):
        if not last_event_id.isdecimal() or int(last_event_id) >= len(self.kept):
            return None
        last = int(last_event_id)
        stream_id = self.kept[last][0]
        for place, (stream, message) in enumerate(self.kept):
            # What has no message only says where the stream is.
            if place > last and stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(place)))
        return stream_id
