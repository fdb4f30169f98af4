//! Captures programs on the stand-in driver.
