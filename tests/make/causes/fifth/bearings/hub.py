"""Tiny event hub of the lab's tools: whoever wants to hear about an event subscribes."""
from collections import defaultdict

_listeners = defaultdict(list)


def subscribe(event, listener):
    _listeners[event].append(listener)


def publish(event, *args):
    for listener in _listeners[event]:
        listener(*args)
