//! Ranges, marks and a dump in a training loop. `vramscope-capture run -o snap.pickle -- training` shows them above
//! the memory of the functions that the loop calls. Without it, the calls do nothing.

use vramscope_api::{Domain, dump, is_captured, mark, range};

fn main() {
    let cache = Domain::named("cache");
    let load = vramscope_api::range_start("load data");
    let loader = std::thread::spawn(move || vramscope_api::range_end(load));
    for step in 0..3 {
        let _step = range!("train step {step}");
        {
            let _forward = range("forward");
        }
        {
            let _backward = range("backward");
            let _evict = cache.range("evict");
        }
        mark("optimizer");
    }
    if is_captured() {
        dump("after-training.pickle");
    }
    let _ = loader.join();
}
