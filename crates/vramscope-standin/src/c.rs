//! Functions with C's calling convention, and access to their arguments.

use std::sync::atomic::{AtomicU64, Ordering};

/// Defines exported functions that return a status, each written as `fn name(argument: type) = status;`.
macro_rules! c {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) = $status:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
            $status
        }
    )*};
}

/// Success in all of CUDA's libraries.
pub(crate) const OK: i32 = 0;

/// Writes a result, unless the pointer is null.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> i32 {
    if !to.is_null() {
        to.write_unaligned(value);
    }
    OK
}

/// Returns a new handle. Like the driver's, handles look like heap addresses; they are counted, so that recordings are
/// reproducible.
pub(crate) unsafe fn handle(to: *mut u64) -> i32 {
    static NEXT: AtomicU64 = AtomicU64::new(0x5581_c0de_0000);
    put(to, NEXT.fetch_add(0x40, Ordering::Relaxed) + 0x40)
}

/// Values that are invented for programs that ask for them.
#[derive(Clone, Copy)]
pub(crate) enum Invented {
    CudnnWorkspace,
    CudnnReserve,
    OtherWorkspace,
    Communicator,
}

/// How often the program asked for each of them.
static ASKED: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// Counts that the program is about to get an invented value.
pub(crate) fn invent(what: Invented) {
    ASKED[what as usize].fetch_add(1, Ordering::Relaxed);
}

/// How often the program got each, in the order of [`Invented`].
pub(crate) fn invented() -> [u64; 4] {
    ASKED.each_ref().map(|count| count.load(Ordering::Relaxed))
}
