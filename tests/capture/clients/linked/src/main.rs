//! The scenes, linked with the driver: `linked SCENE`.

use std::ffi::c_void;

use scenes::driver::{Cuda, Handle, HostFunction, IpcHandle};

macro_rules! linked {
    ($($name:ident $base:literal ($($type:ty),*);)*) => {
        fn linked() -> Cuda {
            Cuda {
                $( $name: {
                    #[link(name = "cuda")]
                    unsafe extern "C" {
                        // Only its address is used, so the arguments need no names here.
                        fn $name();
                    }
                    type Function = unsafe extern "C" fn($($type),*) -> u32;
                    // SAFETY: the driver's function of this name has this signature.
                    unsafe { std::mem::transmute::<unsafe extern "C" fn(), Function>($name) }
                }, )*
            }
        }
    };
}

scenes::with_functions!(linked);

fn main() {
    scenes::main(&linked());
}
