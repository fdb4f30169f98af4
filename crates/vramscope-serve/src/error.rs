//! Why the page cannot be served.

use std::io;

/// Why the page cannot be served. `Display` is the message for the user.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{doing}: {error}")]
    Io {
        /// The attempt, e.g. `cannot listen on 127.0.0.1:80`.
        doing: String,
        error: io::Error,
    },
    /// The page lacks something, which is named, or has it in another form.
    #[error(
        "the page is not one that can be used here ({0} is not as expected): build the page and this program from the same \
         sources, with `cargo xtask build`"
    )]
    Page(String),
}

impl Error {
    /// Wraps an I/O error, for [`Result::map_err`].
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Io { doing, error }
    }
}
