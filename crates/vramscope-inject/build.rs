//! Links the library so that it disturbs no program.
//!
//! Its calls of its own exports are bound to itself. Otherwise one hook could end up in the hook of another library.
//!
//! It does not need `libgcc_s.so.1`, for `src/unwinder.rs` stands in for it. Where the linker is told to link that, it
//! finds a script in `OUT_DIR` first.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    if let Some(folder) = env::var_os("OUT_DIR") {
        let folder = Path::new(&folder);
        fs::write(folder.join("libgcc_s.so"), "INPUT(-lgcc)\n")?;
        println!("cargo:rustc-cdylib-link-arg=-L{}", folder.display());
    }
    Ok(())
}
