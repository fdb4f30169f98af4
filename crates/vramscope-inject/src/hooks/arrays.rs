//! Sizes of allocations that are not requested in bytes: pitched memory and arrays.

use std::ffi::c_uint;

/// `CUDA_ARRAY_DESCRIPTOR`
#[repr(C)]
pub(super) struct Array {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`
#[repr(C)]
pub(super) struct Array3D {
    width: usize,
    height: usize,
    depth: usize,
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// Bytes of a `cuMemAllocPitch` allocation: the pitch chosen by the driver times the height. A null `pitch` means that
/// the call failed; the width is then used instead.
pub(super) fn pitched_bytes(pitch: *const usize, width: usize, height: usize) -> u64 {
    // SAFETY: null, or the driver has just written there.
    let pitch = unsafe { pitch.as_ref() }.map_or(width, |pitch| *pitch);
    (pitch as u64).saturating_mul(height as u64)
}

/// Bytes of an array's elements. The driver does not report its padding.
pub(super) fn bytes(description: *const Array) -> u64 {
    // SAFETY: null, or the driver has just read it.
    unsafe { description.as_ref() }.map_or(0, |array| {
        elements([array.width, array.height, 1])
            .saturating_mul(element_bytes(array.format, array.channels))
    })
}

/// Bytes of a 3D or layered array with this many mipmap levels.
pub(super) fn bytes_3d(description: *const Array3D, levels: c_uint) -> u64 {
    /// `CUDA_ARRAY3D_SPARSE` and `CUDA_ARRAY3D_DEFERRED_MAPPING`: memory is mapped into the array later.
    const WITHOUT_MEMORY: c_uint = 0x40 | 0x80;
    /// `CUDA_ARRAY3D_LAYERED` and `CUDA_ARRAY3D_CUBEMAP`: the depth is a number of layers or faces, equal on all
    /// levels.
    const LAYERED: c_uint = 1 | 4;
    // SAFETY: null, or the driver has just read it.
    let Some(array) = (unsafe { description.as_ref() }) else {
        return 0;
    };
    if array.flags & WITHOUT_MEMORY != 0 {
        return 0;
    }
    let halved = |extent: usize, level: c_uint| match extent {
        0 => 0,
        extent => extent.checked_shr(level).unwrap_or(0).max(1),
    };
    let elements = (0..levels.min(usize::BITS)).map(|level| {
        let depth = match array.flags & LAYERED {
            0 => halved(array.depth, level),
            _ => array.depth,
        };
        elements([
            halved(array.width, level),
            halved(array.height, level),
            depth,
        ])
    });
    elements
        .fold(0_u64, u64::saturating_add)
        .saturating_mul(element_bytes(array.format, array.channels))
}

/// Number of elements. A missing dimension is 0.
fn elements(extents: [usize; 3]) -> u64 {
    extents.iter().fold(1, |product, &extent| {
        product.saturating_mul(extent.max(1) as u64)
    })
}

/// Size of an element by its `CUarray_format`.
fn element_bytes(format: c_uint, channels: c_uint) -> u64 {
    let bytes = match format {
        // 16 bits: integers, half floats, normalised integers.
        0x02 | 0x09 | 0x10 | 0xc3..=0xc5 | 0xc9..=0xcb => 2,
        // 32 bits: integers, floats.
        0x03 | 0x0a | 0x20 => 4,
        // 8 bits. Compressed and video formats also take about a byte.
        _ => 1,
    };
    u64::from(channels.max(1)) * bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_take_what_their_elements_take() {
        let flat = Array {
            width: 100,
            height: 0,
            format: 0x20,
            channels: 4,
        };
        assert_eq!(bytes(&raw const flat), 1600);
        assert_eq!(bytes(std::ptr::null()), 0);
        let mut deep = Array3D {
            width: 8,
            height: 4,
            depth: 2,
            format: 0x01,
            channels: 1,
            flags: 0,
        };
        assert_eq!(bytes_3d(&raw const deep, 1), 64);
        assert_eq!(bytes_3d(&raw const deep, 3), 64 + 8 + 2);
        deep.flags = 1;
        assert_eq!(bytes_3d(&raw const deep, 2), 64 + 16);
        deep.flags = 4;
        assert_eq!(bytes_3d(&raw const deep, 2), 64 + 16);
        deep.flags = 0x80;
        assert_eq!(bytes_3d(&raw const deep, 1), 0);
    }

    #[test]
    fn absurd_extents_do_not_overflow() {
        let absurd = Array3D {
            width: usize::MAX,
            height: usize::MAX,
            depth: usize::MAX,
            format: 0x20,
            channels: u32::MAX,
            flags: 0,
        };
        assert_eq!(bytes_3d(&raw const absurd, u32::MAX), u64::MAX);
        assert_eq!(pitched_bytes(std::ptr::null(), usize::MAX, 2), u64::MAX);
    }
}
