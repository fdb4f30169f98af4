//! The reasons for which a recording is incomplete.

numbered! {
    /// Something that the recorder could not record, or only in part. Counted in the header
    /// ([`header::LOSSES`](super::header::LOSSES)) and reported to the reader of the snapshot, so that an incomplete
    /// recording never looks complete. [`Loss::text`] explains each. Records that did not fit have a counter of their own
    /// ([`header::DROPPED_RECORDS`](super::header::DROPPED_RECORDS)).
    pub enum Loss {
        /// `cuGetProcAddress` returned a function that is not hooked. A note says which and where it is.
        UnknownFunction = 0,
        /// `cuPointerGetAttributes` returned no mapping, although the driver is new enough.
        MappingUnknown = 1,
        /// It returned no pool either.
        PoolUnknown = 2,
        /// It returned no context either.
        ContextUnknown = 3,
        /// It returned nothing.
        DeviceUnknown = 4,
        /// It did not return the size of imported memory.
        SizeUnknown = 5,
        /// A call succeeded, but its result is null.
        NoAddress = 6,
        /// The list of loaded code, or all state for unwinding, was in use for too long, or unwinding found nothing.
        NoStack = 7,
        /// The driver did not say whether the stream was being captured into a graph.
        CaptureUnknown = 8,
        /// A query would have invalidated a capture.
        NotAsked = 9,
        /// `cuMemPoolGetAttribute` failed.
        PoolUsageUnknown = 10,
        /// `cuMemGetInfo` failed.
        FreeMemoryUnknown = 11,
        /// More ranges were open before recording began than there is room for.
        TooManyRanges = 12,
        /// A thread had ranges open in more domains than there is room for.
        TooManyDomains = 13,
        /// There is no room for more names of domains, strings and threads.
        TooManyNames = 14,
        /// The driver did not take the host function of a range on a stream, or the stream was being captured.
        NoStreamRange = 15,
        /// A cached stack differed from the one found by unwinding. Only some are checked, and only if the environment says
        /// so.
        WrongStack = 16,
        /// The program got a function with a driver function's name, which no hook intercepts, from a third library that has
        /// the driver's functions. Calls that reach it through another library are recorded.
        OtherLibrary = 17,
    }
}

impl Loss {
    /// What happened and what it means for the recording, as a clause.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::UnknownFunction => {
                "the driver gave a function that this version does not know, and its calls are not recorded"
            }
            Self::MappingUnknown => {
                "the driver did not report the mapping of an allocation, which therefore is a segment of its own"
            }
            Self::PoolUnknown => {
                "the driver did not report the pool of an allocation, which therefore stands alone"
            }
            Self::ContextUnknown => {
                "the driver reported only the device of an allocation, which therefore stands alone and outlives its context"
            }
            Self::DeviceUnknown => {
                "the driver reported nothing about an allocation, which therefore counts for the device then in use"
            }
            Self::SizeUnknown => {
                "the driver did not report the size of imported memory, which therefore counts 0 bytes"
            }
            Self::NoAddress => "an allocation succeeded without an address, and is missing",
            Self::NoStack => "a stack could not be unwound, and is missing",
            Self::CaptureUnknown => {
                "the driver did not say whether a stream was being captured, and the event counts as the graph's"
            }
            Self::NotAsked => {
                "the driver was not asked about memory, as that would have invalidated a stream's capture"
            }
            Self::PoolUsageUnknown => {
                "the driver did not report a pool's size, so memory may look reserved for too long"
            }
            Self::FreeMemoryUnknown => "the driver did not report the free memory of a device",
            Self::TooManyRanges => {
                "a named range was open before recording began, with too many others, and is missing"
            }
            Self::TooManyDomains => {
                "a named range is missing, as its thread had ranges open in too many domains"
            }
            Self::TooManyNames => "a name is missing, as there are too many",
            Self::NoStreamRange => "a named range on a stream was refused, and is missing",
            Self::WrongStack => "a remembered stack was not the one that unwinding found",
            Self::OtherLibrary => {
                "the program got a driver function of one more library that has them; direct calls of it are not recorded"
            }
        }
    }
}
