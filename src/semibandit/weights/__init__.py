"""The weight structure under the learners."""
