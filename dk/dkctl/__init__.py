# SPDX-License-Identifier: Apache-2.0
"""Asymmetric task scheduling on SMT processors (D. Smith, NCSU 2005), on stock Linux."""
