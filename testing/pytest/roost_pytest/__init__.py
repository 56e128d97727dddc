"""Tests against a Roost server, which is started for them."""

from .server import Roost, RoostError, start

__all__ = ["Roost", "RoostError", "start"]
