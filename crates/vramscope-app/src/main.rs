//! The module of the page. It exports what the library exports to JavaScript, and does nothing by itself.
//!
//! A program of its own, so that the library is compiled while the compiler still optimises what it uses: a `cdylib`
//! would wait for that.

use vramscope_app as _;

fn main() {}
