# SPDX-License-Identifier: Apache-2.0
"""The performance model of Anderson, Lazowska and Levy (1989), section V and equation 3.1."""
