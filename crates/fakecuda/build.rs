//! Sets the library's name for the dynamic linker, and binds its calls of its own functions to itself: an
//! interposer must not come between parts of a driver.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    }
}
