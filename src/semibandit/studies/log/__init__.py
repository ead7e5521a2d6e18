"""The log of a study: events, the stores that keep them, and the replica that replays them."""
