//! The functions of the driver that are looked at.
