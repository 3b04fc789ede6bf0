"""Reads thread traces (ATT) as rocprofv3 unpacks them and finds what stalls."""
