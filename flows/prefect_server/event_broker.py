"""The message broker of the embedded Prefect server: Prefect's own in memory, but it waits where that drops.

Prefect's broker drops events beyond 10,000 in its queue, and with them task-run records: tasks that finish
faster than some 300 a second get there within a minute (measured, two cores). Here the sender waits instead.
Named to Prefect by `PREFECT_SERVER_EVENTS_MESSAGING_BROKER`.
"""

from typing import Any

from prefect.server.utilities.messaging import memory
from prefect.server.utilities.messaging.memory import Publisher, break_topic, ephemeral_subscription

__all__ = ["Consumer", "Publisher", "break_topic", "ephemeral_subscription", "pending"]


class _WaitingSubscription(memory.Subscription):
    async def deliver(self, message: memory.MemoryMessage) -> None:
        await self._queue.put(message)
        await memory.update_metric(self.topic.name, "published")


class Consumer(memory.Consumer):
    def __init__(
        self, topic: str, subscription: memory.Subscription | None = None, concurrency: int = 2, **kwargs: Any
    ) -> None:
        if subscription is None:
            owner = memory.Topic.by_name(topic)
            subscription = _WaitingSubscription(owner)
            owner._subscriptions.append(subscription)
        super().__init__(topic, subscription, concurrency, **kwargs)


def pending() -> int:
    """Events that were received and are not yet handed to the recorder of task runs."""
    events = memory.METRICS["events"]
    return events["published"] - events["consumed"]
