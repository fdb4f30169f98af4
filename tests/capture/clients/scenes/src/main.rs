//! Finds the driver at run time and runs a scene: `scenes dlsym|proc|proc-per-thread SCENE`.

use scenes::driver::Cuda;

fn main() {
    let way = std::env::args().nth(1).expect("a way");
    let cuda = match way.as_str() {
        "dlsym" => Cuda::by_dlsym(),
        "proc" => Cuda::by_get_proc_address(0),
        "proc-per-thread" => Cuda::by_get_proc_address(2),
        _ => panic!("no way {way}"),
    };
    scenes::main(&cuda);
}
