//! Programs that use the driver's memory in one way each: the last argument names the scene. Scenes check what they
//! get, so that a capture which changed it would be noticed.

pub mod driver;
mod ends;
mod gpu;
mod memory;
mod nvtx;
mod others;
mod threads;
mod words;

use driver::Cuda;
use gpu::Gpu;

/// Plays the scene that the last argument names.
///
/// # Panics
///
/// When the driver does not do what it should, or there is no such scene.
pub fn main(cuda: &Cuda) {
    let scene = std::env::args().next_back().expect("a scene");
    let gpu = Gpu::new(*cuda);
    match scene.as_str() {
        "plain" => memory::plain(&gpu),
        "pools" => memory::pools(&gpu),
        "ranges" => memory::ranges(&gpu),
        "graphs" => memory::graphs(&gpu),
        "host" => memory::host(&gpu),
        "arrays" => memory::arrays(&gpu),
        "out-of-memory" => memory::out_of_memory(&gpu),
        "imports" => others::imports(&gpu),
        "contexts" => others::contexts(&gpu),
        "devices" => others::devices(&gpu),
        "threads" => threads::eight(&gpu),
        "long" => threads::long(&gpu),
        "paused" => ends::paused(&gpu),
        "killed" => ends::killed(&gpu),
        "abort" => ends::abort(&gpu),
        "panic" => ends::panic(&gpu),
        "exit" => ends::exit(&gpu),
        "signals" => ends::signals(&gpu),
        "fork" => ends::fork(&gpu),
        "spawn" => ends::spawn(&gpu),
        "suballoc" => words::suballoc(&gpu),
        "words" => words::ranges(&gpu),
        "start-stop" => words::start_stop(&gpu),
        "dump" => words::dump(&gpu),
        "nvtx" => nvtx::ranges(&gpu),
        _ => panic!("no scene {scene}"),
    }
}
