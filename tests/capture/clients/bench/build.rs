//! Links with `libcuda.so` from the folder of the stand-in driver, as from a toolkit's `stubs` folder.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=VRAMSCOPE_STUBS");
    if let Ok(folder) = std::env::var("VRAMSCOPE_STUBS") {
        println!("cargo:rustc-link-search=native={folder}");
    }
}
