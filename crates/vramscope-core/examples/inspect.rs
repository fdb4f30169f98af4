fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        let start = std::time::Instant::now();
        let options = vramscope_core::decode::Options { limits: Default::default(), file_bytes: Some(bytes.len() as u64), on_progress: &mut |_| std::ops::ControlFlow::Continue(()) };
        match vramscope_core::decode::decode_with(&bytes[..], options) {
            Ok(s) => {
                let t = start.elapsed().as_secs_f64();
                println!("{path}: {:.3} s {:.0} MB/s {} events {:?} {} segs {} blocks {} stacks {} frames {} ctx | {} | {:?}", t, bytes.len() as f64 / 1e6 / t, s.events.len(), s.traces, s.segments.len(), s.blocks.len(), s.stacks.len(), s.frames.len(), s.contexts.len(), s.producer.name, s.warnings.list());
                for d in s.devices() {
                    let start = std::time::Instant::now();
                    let h = vramscope_core::analysis::history::History::of(&s, d);
                    println!("  device {d}: {:.1} ms, {} allocations, peak {} at {}, end {}, reserved {:?}", start.elapsed().as_secs_f64()*1e3, h.allocations.len(), h.active_bytes[h.peak_moment as usize], h.peak_moment, h.active_bytes.last().unwrap(), h.reserved_steps.last());
                }
            }
            Err(e) => println!("{path}: ERROR {e}"),
        }
    }
}
