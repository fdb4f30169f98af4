//! Time limits of pieces of work.

/// The time limit of a piece of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    begin_ms: f64,
    given_ms: f64,
}

impl Pace {
    /// A limit of `ms` from now on.
    pub(super) fn of(given_ms: f64) -> Self {
        Self {
            begin_ms: now_ms(),
            given_ms,
        }
    }

    /// Whether the time is over.
    pub(super) fn is_over(&self) -> bool {
        self.spent_ms() >= self.given_ms
    }

    /// Time since the beginning, in ms.
    pub(super) fn spent_ms(&self) -> f64 {
        now_ms() - self.begin_ms
    }
}

/// The time in ms, by the browser's clock; in native tests, which have no browser, by the system's.
fn now_ms() -> f64 {
    #[cfg(target_arch = "wasm32")]
    {
        vramscope_protocol::clock::now_ms()
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        static BEGIN: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        BEGIN.elapsed().as_secs_f64() * 1_000.0
    }
}
