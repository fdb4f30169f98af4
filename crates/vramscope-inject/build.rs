//! Binds the library's calls of its own exports to itself. Otherwise one hook could end up in the hook of another
//! library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
