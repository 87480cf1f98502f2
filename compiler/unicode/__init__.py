"""Unicode 16.0 tables as the reference engines have them, checked in as `tables.txt`."""

from gigatok_compile.unicode.tables import UNICODE_VERSION, expansions, fold_orbit, property_ranges

__all__ = ["UNICODE_VERSION", "expansions", "fold_orbit", "property_ranges"]
