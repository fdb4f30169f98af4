//! What the page's workers have alike, which are programs of their own: the messages to and from the page, the queue of
//! questions, the turns of their work, and the browser's bitmaps and blobs.

mod bitmap;
mod blob;
mod port;
mod progress;
mod queue;

pub use bitmap::Bitmaps;
pub use blob::BlobReader;
pub use port::{Port, Ticks, log_error, serve};
pub use progress::Reporter;
pub use queue::Queue;
