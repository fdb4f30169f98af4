//! Compares stacks with those of libgcc, on various threads, libraries and stacks.

use crate::{log, stack};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use vramscope_record::layout::{Kind, Module, Stack};

/// The written addresses of a stack number.
fn addresses(number: u32) -> Vec<u64> {
    let records = log::records(Kind::Stack);
    let record = records.iter().find_map(|payload| {
        let (head, addresses) = Stack::read(payload)?;
        (head.number == number).then(|| (head, addresses.to_vec()))
    });
    let (head, bytes) = record.expect("a record of the stack");
    let addresses: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(addresses.len(), head.frames as usize);
    addresses
}

/// A slow, simple reference: return addresses by libgcc, the caller's first.
#[inline(never)]
fn by_libgcc() -> Vec<u64> {
    #[repr(C)]
    struct Context(c_void);
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            each: extern "C" fn(*mut Context, *mut c_void) -> c_int,
            found: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(context: *mut Context) -> usize;
    }
    extern "C" fn each(context: *mut Context, found: *mut c_void) -> c_int {
        // SAFETY: libgcc passes the pointer that it was given.
        unsafe { (*found.cast::<Vec<u64>>()).push(_Unwind_GetIP(context) as u64) };
        0
    }
    let mut found = Vec::<u64>::new();
    // SAFETY: the callback takes the vector that is passed here.
    unsafe { _Unwind_Backtrace(each, (&raw mut found).cast()) };
    found.retain(|&address| address != 0);
    found.split_off(1)
}

/// Compares the frames of both, without the innermost ones, which are different calls in the same function.
#[track_caller]
fn assert_same(number: u32, by_libgcc: &[u64]) {
    let found = addresses(number);
    assert!(found.len() > 2, "{found:x?}");
    assert_eq!(found[1..], by_libgcc[1..], "{found:x?} {by_libgcc:x?}");
}

#[inline(never)]
fn both() -> (u32, Vec<u64>) {
    (stack::record(128), by_libgcc())
}

#[inline(never)]
fn deep(levels: u32, run: &mut dyn FnMut()) {
    if levels == 0 {
        run();
    } else {
        deep(levels - 1, run);
    }
    std::hint::black_box(levels);
}

#[test]
fn stacks_are_those_that_libgcc_finds() {
    // The second half repeats stacks, which are found among the traces.
    for levels in [0, 1, 7, 50, 0, 1, 7, 50, 49] {
        deep(levels, &mut || {
            let (number, reference) = both();
            assert_same(number, &reference);
        });
    }
}

/// Two call sites with frames of equal size, so that the stacks differ only in their addresses.
#[inline(never)]
fn left_or_right(path: u32, levels: u32) {
    if levels == 0 {
        let (number, reference) = both();
        assert_same(number, &reference);
    } else if path & 1 == 0 {
        left_or_right(std::hint::black_box(path >> 1), levels - 1);
    } else {
        left_or_right(std::hint::black_box(path) >> 1, levels - 1);
        std::hint::black_box(path);
    }
}

#[test]
fn stacks_that_differ_a_little_are_distinguished() {
    let mut random = 1_u32;
    for _ in 0..500 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        left_or_right(random >> 20, 6);
    }
}

#[test]
fn threads_have_stacks_of_their_own() {
    let threads: Vec<_> = (0..40)
        .map(|levels| {
            std::thread::spawn(move || {
                deep(levels, &mut || {
                    let (number, reference) = both();
                    assert_same(number, &reference);
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn the_same_stack_has_one_number() {
    let mut numbers: Vec<u32> = (0..200).map(|_| stack::record(64)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    // A few more than one are allowed: another thread may have used this thread's shard for a moment.
    assert!(numbers[0] != 0 && numbers.len() < 10, "{numbers:?}");
}

#[test]
fn what_found_no_room_is_written_later() {
    let numbers = [true, false].map(|is_full| {
        log::IS_FULL.set(is_full);
        // First call site.
        stack::record(std::hint::black_box(100))
    });
    assert_eq!(numbers[0], 0);
    assert!(addresses(numbers[1]).len() > 2);
}

#[test]
fn depth_cuts_the_outer_frames() {
    // A single call site, so that the return address is the same: a loop whose number of turns the compiler cannot
    // know.
    let mut depths = std::hint::black_box(vec![5, 128]);
    let mut found = Vec::new();
    while let Some(depth) = depths.pop() {
        found.push(addresses(stack::record(depth)));
    }
    let [whole, cut] = &found[..] else {
        panic!("two depths");
    };
    assert_eq!(cut[1..], whole[1..5]);
    assert_eq!(cut.len(), 5);
    assert_eq!(stack::record(0), 0);
}

#[test]
fn every_address_lies_in_a_module_written_before() {
    let number = stack::record(128);
    let modules: Vec<(Module, Vec<u8>)> = log::records(Kind::Module)
        .iter()
        .map(|payload| Module::read(payload).unwrap())
        .map(|(module, rest)| (module, rest.to_vec()))
        .collect();
    for address in addresses(number) {
        let (module, rest) = modules
            .iter()
            .find(|(module, _)| (module.start..module.end).contains(&(address - 1)))
            .expect("a module");
        let path = std::str::from_utf8(&rest[module.build_id_bytes as usize..]).unwrap();
        assert!(std::path::Path::new(path).is_file(), "{path}");
    }
    let own = std::env::current_exe().unwrap();
    let is_own = |rest: &[u8]| rest.ends_with(own.as_os_str().as_encoded_bytes());
    assert!(modules.iter().any(|(_, rest)| is_own(rest)));
    assert!(modules.iter().any(|(_, rest)| rest.ends_with(b"[vdso]")));
}

/// qsort calls back, so frames of libc are between the test's own.
#[test]
fn callbacks_through_other_libraries_are_seen_through() {
    extern "C" fn compare(_: *const c_void, _: *const c_void) -> c_int {
        let (number, reference) = both();
        assert_same(number, &reference);
        0
    }
    let mut numbers = [2, 1];
    // SAFETY: two elements of their size.
    unsafe { libc::qsort(numbers.as_mut_ptr().cast(), 2, 4, Some(compare)) };
}

/// A signal handler on an alternate stack, outside the bounds of the thread's stack.
#[test]
fn other_stacks_are_read_too() {
    extern "C" fn handler(_: c_int) {
        NUMBER.store(stack::record(128), Ordering::Relaxed);
    }
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    std::thread::spawn(|| {
        let mut room = vec![0_u8; 1 << 18];
        // SAFETY: the handler's stack lives until the thread ends, and nothing else raises the signal.
        unsafe {
            let mut signals: libc::stack_t = std::mem::zeroed();
            signals.ss_sp = room.as_mut_ptr().cast();
            signals.ss_size = room.len();
            assert_eq!(libc::sigaltstack(&signals, std::ptr::null_mut()), 0);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK;
            assert_eq!(
                libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut()),
                0
            );
            deep(20, &mut || {
                libc::raise(libc::SIGUSR2);
            });
            signals.ss_flags = libc::SS_DISABLE;
            libc::sigaltstack(&signals, std::ptr::null_mut());
        }
    })
    .join()
    .unwrap();
    // The handler, and the kernel's return trampoline. framehop does not continue on the other stack.
    assert!(addresses(NUMBER.load(Ordering::Relaxed)).len() >= 2);
}

/// A library loaded after the first stack, and unloaded code.
#[test]
fn libraries_come_and_go() {
    extern "C" fn compare(_: *const c_void, _: *const c_void) -> c_int {
        assert_ne!(stack::record(128), 0);
        0
    }
    stack::record(128);
    let names: [&CStr; 2] = [c"libresolv.so.2", c"libutil.so.1"];
    for name in names.iter().cycle().take(20) {
        // SAFETY: the C library's own libraries.
        unsafe {
            let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
            let mut numbers = [2, 1];
            libc::qsort(numbers.as_mut_ptr().cast(), 2, 4, Some(compare));
            let (number, reference) = both();
            assert_same(number, &reference);
            if !library.is_null() {
                libc::dlclose(library);
            }
        }
    }
}
