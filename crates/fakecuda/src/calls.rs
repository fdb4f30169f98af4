//! The driver's functions, one file per topic.

mod context;
mod copy;
mod device;
mod errors;
mod graph;
mod host;
mod kernel;
mod memory;
mod pointer;
mod pool;
mod proc_address;
mod range;
mod share;
mod stream;
mod stubs;

/// All functions by name.
fn tables() -> Vec<(&'static str, *const std::ffi::c_void)> {
    [
        context::table(),
        copy::table(),
        device::table(),
        errors::table(),
        graph::table(),
        host::table(),
        kernel::table(),
        memory::table(),
        pointer::table(),
        pool::table(),
        proc_address::table(),
        range::table(),
        share::table(),
        stream::table(),
        stubs::table(),
    ]
    .concat()
}
