//! The dynamic linker: `dlsym`, so that programs which look the driver up by name find the hooks.
