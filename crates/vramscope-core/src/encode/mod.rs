//! A [`Snapshot`](crate::Snapshot) back into bytes that torch's own tools read.
