"""Reach: which parts of which files a test has been seen to execute or read, and the fingerprints that follow from it.

Triage, never proof: reach says which failures a change may explain, and which outcomes of other lanes speak about
trunk. What counts as flaking rests on the identical tree alone.
"""
