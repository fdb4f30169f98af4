//! Where there are no signals, an interrupted program ends at once, and may leave a temporary file behind.

use std::io;

/// Does nothing.
pub(crate) fn watch() -> io::Result<()> {
    Ok(())
}

/// Runs `act`.
pub(crate) fn without<T>(act: impl FnOnce() -> T) -> T {
    act()
}
