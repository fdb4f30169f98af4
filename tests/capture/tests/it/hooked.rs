//! The stand-in driver has the functions that the recorder hooks, since the versions that the recorder assumes.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use vramscope_capture_tests::programs;

#[path = "../../../../crates/vramscope-inject/src/hooks/table.rs"]
#[expect(dead_code, reason = "only names and versions are needed")]
mod table;

#[test]
#[expect(unsafe_code, reason = "calls C")]
fn every_hooked_function_exists_since_its_version() {
    type Get = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> u32;
    let path = programs::fakecuda().join("libcuda.so.1");
    let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("no zeros in paths");
    // SAFETY: C strings, and the type of the driver's function.
    let (driver, get) = unsafe {
        let driver = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!driver.is_null());
        let get = libc::dlsym(driver, c"cuGetProcAddress_v2".as_ptr());
        (driver, std::mem::transmute::<*mut c_void, Get>(get))
    };
    let symbol = |name: &CStr| {
        // SAFETY: an open library and a C string.
        unsafe { libc::dlsym(driver, name.as_ptr()) }
    };
    for hooked in &table::HOOKED {
        let name = CString::new(hooked.name).expect("no zeros in names");
        let exported = symbol(&name);
        assert!(!exported.is_null(), "{}", hooked.name);
        let whole = hooked.name.strip_suffix("_ptsz");
        let flags = if whole.is_some() { 2 } else { 0 };
        let base = whole
            .unwrap_or(hooked.name)
            .trim_end_matches(|it: char| it.is_ascii_digit());
        let base = base
            .strip_suffix("_v")
            .unwrap_or(whole.unwrap_or(hooked.name));
        let base = CString::new(base).expect("no zeros in names");
        let given = |version| {
            let (mut found, mut status) = (std::ptr::null_mut(), 0);
            // SAFETY: the pointers are valid.
            unsafe {
                get(
                    base.as_ptr(),
                    &raw mut found,
                    version,
                    flags,
                    &raw mut status,
                )
            };
            found
        };
        assert_eq!(
            given(hooked.since),
            exported,
            "{} in {}",
            hooked.name,
            hooked.since
        );
        // The stand-in returns functions without a suffix for all versions.
        if hooked.name.contains("_v") {
            let before = given(hooked.since - 1);
            assert_ne!(before, exported, "{} before {}", hooked.name, hooked.since);
        }
    }
}
