//! Links the library so that it does not disturb any program.
//!
//! Calls of its own exports are bound to itself. Otherwise one hook could end up in another library's hook.
//!
//! It does not need `libgcc_s.so.1`, which `src/unwinder.rs` replaces. Where the linker is asked to link that library,
//! it first finds a script in `OUT_DIR`.

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
