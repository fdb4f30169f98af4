//! Serves the page, and the files it opens, to a browser on the same machine.
//!
//! A [`Page`] is a list of compressed files, [`Served`] are the user's files, and a [`Server`] answers requests for
//! these and nothing else. It knows nothing about their content: to serve a dataset's ranks, name their files.

mod browser;
mod error;
mod events;
mod files;
mod forwarding;
mod http;
mod page;
mod server;
#[cfg(test)]
mod server_tests;

pub use self::browser::open;
pub use self::error::Error;
pub use self::files::Served;
pub use self::forwarding::forwarding_line;
pub use self::page::{Asset, Page};
pub use self::server::Server;
