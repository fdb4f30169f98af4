//! Real copies and fills: device memory is ordinary memory here.

use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

use crate::entry::{Answer, Handle, result};

driver! {
    fn cuMemcpy, cuMemcpy_ptds(to: u64, from: u64, bytes: usize) { copy(to, from, bytes) }
    fn cuMemcpyAsync, cuMemcpyAsync_ptsz(to: u64, from: u64, bytes: usize, _stream: Handle) { copy(to, from, bytes) }
    fn cuMemcpyPeer, cuMemcpyPeer_ptds(to: u64, _there: Handle, from: u64, _here: Handle, bytes: usize) { copy(to, from, bytes) }
    fn cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz(to: u64, _there: Handle, from: u64, _here: Handle, bytes: usize, _stream: Handle) {
        copy(to, from, bytes)
    }
    fn cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds(to: u64, from: *const c_void, bytes: usize) { copy(to, from as u64, bytes) }
    fn cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz(to: u64, from: *const c_void, bytes: usize, _stream: Handle) {
        copy(to, from as u64, bytes)
    }
    fn cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds(to: *mut c_void, from: u64, bytes: usize) { copy(to as u64, from, bytes) }
    fn cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz(to: *mut c_void, from: u64, bytes: usize, _stream: Handle) {
        copy(to as u64, from, bytes)
    }
    fn cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds(to: u64, from: u64, bytes: usize) { copy(to, from, bytes) }
    fn cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz(to: u64, from: u64, bytes: usize, _stream: Handle) { copy(to, from, bytes) }

    fn cuMemsetD8_v2, cuMemsetD8_v2_ptds(to: u64, value: c_uchar, count: usize) { fill(to, value, count) }
    fn cuMemsetD8Async, cuMemsetD8Async_ptsz(to: u64, value: c_uchar, count: usize, _stream: Handle) { fill(to, value, count) }
    fn cuMemsetD16_v2, cuMemsetD16_v2_ptds(to: u64, value: c_ushort, count: usize) { fill(to, value, count) }
    fn cuMemsetD16Async, cuMemsetD16Async_ptsz(to: u64, value: c_ushort, count: usize, _stream: Handle) { fill(to, value, count) }
    fn cuMemsetD32_v2, cuMemsetD32_v2_ptds(to: u64, value: c_uint, count: usize) { fill(to, value, count) }
    fn cuMemsetD32Async, cuMemsetD32Async_ptsz(to: u64, value: c_uint, count: usize, _stream: Handle) { fill(to, value, count) }

    fn cuMemcpy2D_v2, cuMemcpy2D_v2_ptds(plan: *const Copy2d) { copy_2d(plan) }
    fn cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds(plan: *const Copy2d) { copy_2d(plan) }
    fn cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz(plan: *const Copy2d, _stream: Handle) { copy_2d(plan) }
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Copy2d {
    from: Side,
    to: Side,
    width: usize,
    rows: usize,
}

/// One end of a 2D copy.
#[derive(Clone, Copy)]
#[repr(C)]
struct Side {
    x: usize,
    y: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: u64,
    pitch: usize,
}

impl Side {
    /// Address of a row. Arrays have no address here.
    fn row(&self, row: usize) -> Answer<u64> {
        let base = match self.kind {
            1 => self.host,
            2 | 4 => self.device,
            _ => return Err(result::NOT_SUPPORTED),
        };
        Ok(base + ((self.y + row) * self.pitch + self.x) as u64)
    }
}

fn copy_2d(plan: *const Copy2d) -> Answer {
    let plan = crate::entry::read_in(plan)?;
    for row in 0..plan.rows {
        copy(plan.to.row(row)?, plan.from.row(row)?, plan.width)?;
    }
    Ok(())
}

fn copy(to: u64, from: u64, bytes: usize) -> Answer {
    if bytes > 0 {
        // SAFETY: the caller's promise, as for the real driver, which would fault too.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
    }
    Ok(())
}

fn fill<T: Copy>(to: u64, value: T, count: usize) -> Answer {
    let to = to as *mut T;
    for at in 0..count {
        // SAFETY: the caller's promise, as for the real driver, which would fault too.
        unsafe { to.add(at).write_unaligned(value) };
    }
    Ok(())
}
