//! Programs that each use the driver's memory in one way. The last argument names the scene. Scenes check all
//! results, so that a capture that changes them fails.

mod annotations;
mod device_ranges;
pub mod driver;
mod ends;
mod gpu;
mod memory;
pub mod nvtx;
mod others;
mod threads;

use driver::Cuda;
use gpu::Gpu;

/// Runs the scene named by the last argument.
///
/// # Panics
///
/// If the driver behaves wrongly, or if the scene does not exist.
pub fn main(cuda: &Cuda) {
    let scene = std::env::args().next_back().expect("a scene");
    let gpu = Gpu::new(*cuda);
    match scene.as_str() {
        "plain" => memory::plain(&gpu),
        "pools" => memory::pools(&gpu),
        "default-pool" => memory::default_pool(&gpu),
        "other-pools" => memory::other_pools(&gpu),
        "ranges" => memory::ranges(&gpu),
        "graphs" => memory::graphs(&gpu),
        "graph-memory" => memory::graph_memory(&gpu),
        "unseen-capture" => memory::unseen_capture(&gpu),
        "new-graphs" => memory::new_graphs(&gpu),
        "host" => memory::host(&gpu),
        "arrays" => memory::arrays(&gpu),
        "out-of-memory" => memory::out_of_memory(&gpu),
        "imports" => others::imports(&gpu),
        "contexts" => others::contexts(&gpu),
        "first-versions" => others::first_versions(&gpu),
        "devices" => others::devices(&gpu),
        "threads" => threads::eight(&gpu),
        "long" => threads::long(&gpu),
        "paused" => ends::paused(&gpu),
        "killed" => ends::killed(&gpu),
        "abort" => ends::abort(&gpu),
        "panic" => ends::panic(&gpu),
        "exit" => ends::exit(&gpu),
        "signals" => ends::signals(&gpu),
        "told" => ends::told(&gpu),
        "fork" => ends::fork(&gpu),
        "spawn" => ends::spawn(&gpu),
        "suballoc" => annotations::suballoc(&gpu),
        "annotations" => annotations::ranges(&gpu),
        "start-stop" => annotations::start_stop(&gpu),
        "host-function" => annotations::host_function(&gpu),
        "dump" => annotations::dump(&gpu),
        "nvtx" => annotations::nvtx(&gpu),
        "device-ranges" => device_ranges::device_ranges(&gpu),
        "graph-ranges" => device_ranges::in_a_graph(&gpu),
        _ => panic!("no scene {scene}"),
    }
}
