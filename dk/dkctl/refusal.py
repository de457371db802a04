# SPDX-License-Identifier: Apache-2.0
"""The exception by which every part of dkctl refuses a request before it changes anything."""


class Refusal(Exception):
    """A request that dkctl does not carry out: what failed, why, and what the user can do."""

    def __init__(self, what, why, do, status=1):
        super().__init__(f"{what}: {why} ({do})")
        self.what, self.why, self.do, self.status = what, why, do, status
