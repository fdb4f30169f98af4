//! Synthetic timelines for the bench and the sample pictures: a training run and worst cases.

/// A timeline that owns its columns.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) born: Vec<u32>,
    pub(crate) died: Vec<u32>,
    pub(crate) free_requested: Vec<u32>,
    pub(crate) bytes: Vec<u64>,
    pub(crate) total_bytes: Vec<u64>,
    /// The number of a line of code, by row.
    pub(crate) site: Vec<u64>,
}

/// A small random number generator (SplitMix64), so that the traces are the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    /// A random number in `0..below`.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % below
    }
}

impl Trace {
    pub(crate) fn bands(&self) -> vramscope_view::raster::Bands<'_> {
        vramscope_view::raster::Bands {
            born: &self.born,
            died: &self.died,
            free_requested: &self.free_requested,
            bytes: &self.bytes,
            total_bytes: (&self.total_bytes).into(),
            moment_start_us: None,
        }
    }

    pub(crate) fn moments(&self) -> u32 {
        self.total_bytes.len() as u32
    }

    fn start() -> Self {
        Self {
            total_bytes: vec![0],
            ..Self::default()
        }
    }

    fn total(&self) -> u64 {
        self.total_bytes.last().copied().unwrap_or(0)
    }

    /// Adds an allocation from before the recording.
    pub(crate) fn before(&mut self, bytes: u64, site: u64) {
        self.push(0, bytes, site);
        self.total_bytes[0] += bytes;
    }

    fn push(&mut self, born: u32, bytes: u64, site: u64) -> usize {
        self.born.push(born);
        self.died.push(u32::MAX);
        self.free_requested.push(u32::MAX);
        self.bytes.push(bytes);
        self.site.push(site);
        self.born.len() - 1
    }

    pub(crate) fn alloc(&mut self, bytes: u64, site: u64) -> usize {
        let row = self.push(self.moments(), bytes, site);
        self.total_bytes.push(self.total() + bytes);
        row
    }

    /// Requests a free; the memory stays in use until [`Trace::free_completed`].
    pub(crate) fn free_requested(&mut self, row: usize) {
        self.free_requested[row] = self.moments();
        self.total_bytes.push(self.total());
    }

    pub(crate) fn free_completed(&mut self, row: usize) {
        self.died[row] = self.moments();
        self.total_bytes.push(self.total() - self.bytes[row]);
    }

    pub(crate) fn free(&mut self, row: usize) {
        self.free_requested(row);
        self.free_completed(row);
    }
}

/// Training steps: parameters at the bottom, optimizer state from the first step on, activations
/// that grow in the forward pass and are freed in reverse, temporaries throughout, and some frees
/// that stay pending for long.
pub(crate) fn training(events: u32) -> Trace {
    let mut random = Random(1);
    let mut trace = Trace::start();
    let layers: u64 = 48;
    for layer in 0..layers {
        for part in 0..12 {
            trace.before((1 + layer % 3 + part) << 20, 900 + part);
        }
    }
    let mut waiting: Vec<usize> = Vec::new();
    let mut step = 0;
    while trace.moments() < events {
        let mut activations = Vec::new();
        for layer in 0..layers {
            for part in 0..40 {
                let site = 100 + part + (layer % 2) * 50;
                let bytes = 512 * (1 + random.below(if part < 4 { 60_000 } else { 1_200 }));
                activations.push((trace.alloc(bytes, site), bytes));
                temporaries(&mut trace, &mut random, 3);
            }
        }
        while let Some((row, bytes)) = activations.pop() {
            let gradient = trace.alloc(bytes, 300 + row as u64 % 17);
            if random.below(40) == 0 {
                trace.free_requested(row);
                waiting.push(row);
            } else {
                trace.free(row);
            }
            temporaries(&mut trace, &mut random, 2);
            trace.free(gradient);
            if waiting.len() > 30 {
                let done = waiting.remove(0);
                trace.free_completed(done);
            }
        }
        if step == 0 {
            for part in 0..1_500 {
                trace.alloc(512 * (1 + random.below(9_000)), 500 + part % 5);
            }
        }
        step += 1;
    }
    trace
}

fn temporaries(trace: &mut Trace, random: &mut Random, count: u64) {
    for _ in 0..random.below(count + 1) {
        let row = trace.alloc(512 * (1 + random.below(300)), 700 + random.below(9));
        trace.free(row);
    }
}

/// `live` allocations of all sizes, replaced in random order.
pub(crate) fn torture(events: u32, live: usize) -> Trace {
    let mut random = Random(2);
    let mut trace = Trace::start();
    let mut rows = Vec::new();
    while trace.moments() < events {
        if rows.len() >= live {
            let gone = random.below(rows.len() as u64) as usize;
            let row = rows.swap_remove(gone);
            trace.free(row);
        }
        let bytes = 512 << random.below(12);
        let site = random.below(60);
        rows.push(trace.alloc(bytes, site));
    }
    trace
}
