# SPDX-License-Identifier: Apache-2.0
"""The sections of the page, in their order: one module each, with section(results)."""
from . import targets, thesis_pi, thesis_ocean

ALL = (targets, thesis_pi, thesis_ocean)
