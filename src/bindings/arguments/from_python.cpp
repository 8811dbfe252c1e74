// from_python.cpp: adopts and borrows Python arguments: NumPy arrays, torch tensors and DLPack arrays.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <optional>
#include <utility>

#include "bindings/arguments/from_python.h"
#include "bindings/arguments/torch_modes.h"
#include "bindings/devices/device_location.h"
#include "bindings/gil.h"
#include "bindings/python_calls.h"
#include "core/error.h"

namespace gs {
namespace {

PyArrayObject* as_ndarray(const py::object& object) {
  return reinterpret_cast<PyArrayObject*>(object.ptr());
}

dlpack::DataType dlpack_type(PyArray_Descr* descr) {
  const auto bits = static_cast<uint8_t>(PyDataType_ELSIZE(descr) * 8);
  if (descr->byteorder == '>' || descr->type_num >= NPY_NTYPES_LEGACY) return {dlpack::kOpaque, bits, 1};
  switch (descr->kind) {
    case 'i': return {dlpack::kInt, bits, 1};
    case 'u': return {dlpack::kUInt, bits, 1};
    case 'f': return {dlpack::kFloat, bits, 1};
    case 'c': return {dlpack::kComplex, bits, 1};
    case 'b': return {dlpack::kBool, bits, 1};
    default: return {dlpack::kOpaque, bits, 1};
  }
}

// The end of the error for an array of Python objects.
std::string of_plain_bytes(const char* what) {
  const std::string name(what);
  if (name == "index") return "; index.astype('int64') casts numbers";
  if (name == "out") return "";
  return "; " + name + ".astype(dtype) casts numbers and text, and columns with nulls are for gatherscatter.table";
}

void check_references(PyArray_Descr* descr, const char* what) {
  if (!PyDataType_REFCHK(descr)) return;
  if (descr->kind == 'T') {
    throw DTypeError(std::string(what) + " has dtype StringDType, whose text lies outside of the array; " + what +
                     ".astype('U') has it inside, and columns of text are for gatherscatter.table");
  }
  throw DTypeError(std::string(what) + " has dtype " + python::text_of(py::handle((PyObject*)descr)) +
                   ", whose items are references to Python objects; only items of plain bytes can be moved" +
                   of_plain_bytes(what));
}

void borrow_ndarray(Role role, Operand& operand) {
  PyArrayObject* array = as_ndarray(operand.object);
  PyArray_Descr* descr = PyArray_DESCR(array);
  check_references(descr, role_name(role));
  const int rank = PyArray_NDIM(array);
  ArrayView& view = operand.view;
  view.data = static_cast<std::byte*>(PyArray_DATA(array));
  view.item = PyDataType_ELSIZE(descr);
  view.extent.append(reinterpret_cast<const int64_t*>(PyArray_DIMS(array)), rank);
  view.stride.append(reinterpret_cast<const int64_t*>(PyArray_STRIDES(array)), rank);
  operand.library = Library::numpy;
  operand.writable = PyArray_ISWRITEABLE(array);
  operand.type.data = dlpack_type(descr);
  operand.type.descr = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(descr));
}

// Calls a method of torch.Tensor that takes no arguments and returns a bool.
bool is_true(const py::object& tensor, PyObject* method) {
  return python::call(method, tensor).ptr() == Py_True;
}

// Rejects gradients and tangents. torch's exchange table does not check for them, and ignoring one would give a
// silently wrong result.
void check_gradients(Role role, const py::object& tensor) {
  const std::string what = role_name(role);
  static PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
  if (python::attribute(tensor, requires_grad).ptr() == Py_True) {
    const py::object is_enabled = python_part("torch", "is_grad_enabled");
    if (python::call(is_enabled).ptr() == Py_True) {
      throw std::runtime_error(what +
                               " is a tensor that requires grad, and its gradient would be lost. Pass "
                               "tensor.detach(), or call under torch.no_grad()");
    }
  }
  if (dlpack::torch().in_forward_mode()) {
    const py::object unpacked = python::call_method(dlpack::torch().forward_mode, "unpack_dual", tensor);
    if (!python::attribute(unpacked, "tangent").is_none()) {
      throw DTypeError(what + " is a dual tensor of forward-mode differentiation, whose tangent would be lost");
    }
  }
}

// Throws the error for a tensor that torch's C interface did not confirm. With `has_header`, the exchange table gave a
// header for it, so the tensor may still be valid; then nothing is thrown.
void check_memory(Role role, const py::object& tensor, bool has_header) {
  const py::object find = python_part("gatherscatter._libraries.of_torch", "problem_of");
  const py::object problem = python::call(find, tensor, py::bool_(has_header));
  if (problem.is_none()) return;
  const auto [kind, words] = problem.cast<std::pair<py::object, std::string>>();
  const std::string message = std::string(role_name(role)) + " " + words;
  if (kind.ptr() == PyExc_BufferError) throw ExchangeError(message);
  throw DTypeError(message);
}

void borrow_torch(Role role, Operand& operand) {
  dlpack::Tensor tensor{};
  if (dlpack::torch().api->tensor_from_object(operand.object.ptr(), &tensor) != 0) {
    PyErr_Clear();  // torch's own message contains a page of stack frames
    const dlpack::WithoutModes guard;
    check_memory(role, operand.object, false);
  }
  // Integers and booleans have no gradient, and only complex tensors and their parts have a lazy bit. Each check takes
  // as long as a small gather, so it is limited to the dtypes that need it.
  const uint8_t code = tensor.dtype.code;
  std::optional<dlpack::WithoutModes> guard;
  if (code != dlpack::kInt && code != dlpack::kUInt && code != dlpack::kBool) {
    guard.emplace();
    check_gradients(role, operand.object);
  }
  const bool may_be_lazy = code == dlpack::kComplex || code == dlpack::kFloat;
  if (may_be_lazy && is_true(operand.object, dlpack::torch().is_neg)) {
    throw DTypeError(std::string(role_name(role)) + " is a tensor with a lazy negative bit; pass tensor.resolve_neg()");
  }
  if (code == dlpack::kComplex && is_true(operand.object, dlpack::torch().is_conj)) {
    throw DTypeError(std::string(role_name(role)) +
                     " is a tensor with a lazy conjugate bit; pass tensor.resolve_conj()");
  }
  const bool is_expected_device = operand.location != nullptr && tensor.device.type == operand.location->device.type &&
                                  tensor.device.id == operand.location->device.id;
  if (tensor.device.type != dlpack::kCpu && tensor.device.type != dlpack::kCudaHost && !is_expected_device) {
    const std::string problem = std::string(role_name(role)) + " is a tensor on device " +
                                python::text_of(python::attribute(operand.object, "device")) +
                                "; only host memory and CUDA devices are supported";
    if (role == Role::out) throw ShapeError(problem);
    throw DTypeError(problem);
  }
  if (dlpack::torch().memory.is_unbacked(operand.object.ptr(), tensor)) {
    for (int axis = 0; axis <= tensor.ndim; ++axis) {
      if (axis == tensor.ndim)
        throw DTypeError(std::string(role_name(role)) + " is a tensor without memory (fake or meta)");
      if (tensor.shape[axis] == 0) break;
    }
  }
  ArrayView& view = operand.view;
  view = dlpack::checked_view(tensor, false);
  if (!dlpack::torch().memory.confirms(operand.object.ptr(), tensor.dtype, view.item, view.rank(), view.extent.data(),
                                       view.stride.data())) {
    if (!guard) guard.emplace();
    check_memory(role, operand.object, true);
  }
  operand.library = Library::torch;
  operand.writable = true;
  operand.type.data = tensor.dtype;
}

void borrow_dlpack(Operand& operand) {
  const auto& array = py::cast<const dlpack::ExchangedArray&>(operand.object);
  static_cast<ArrayView&>(operand.view) = array.view();
  operand.library = Library::dlpack;
  operand.writable = array.writable();
  operand.type.data = array.dtype();
  operand.type.descr = array.descr();
}

// Replaces an index array in the other byte order by a native copy, because kernels load native integers only. No other
// index array in host memory is copied.
void make_native(Operand& operand) {
  PyArrayObject* array = as_ndarray(operand.object);
  if (!PyArray_ISBYTESWAPPED(array)) return;
  PyArray_Descr* native = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
  PyObject* swapped = PyArray_FromArray(array, native, 0);
  if (swapped == nullptr) throw py::error_already_set();
  operand.object = py::reinterpret_steal<py::object>(swapped);
}

// The end of the error for an index that does not consist of integers.
const char* next_step(const Operand& operand) {
  switch (operand.type.data.code) {
    case dlpack::kBool: return "; a mask goes into mask=, and compress, putmask and place take one for the array";
    case dlpack::kFloat:
      return operand.library == Library::torch ? "; index.long() casts it" : "; index.astype('int64') casts it";
    default: break;
  }
  if (!operand.type.descr) return "";
  const int type = reinterpret_cast<PyArray_Descr*>(operand.type.descr.ptr())->type_num;
  const bool is_text = type == NPY_UNICODE || type == NPY_STRING;
  return is_text ? "; pandas.Index(labels).get_indexer(index) finds the numbers of labels" : "";
}

IndexType index_type_of(const Operand& operand) {
  bool is_signed = false;
  bool is_integer = false;
  if (operand.type.descr) {
    const int type = reinterpret_cast<PyArray_Descr*>(operand.type.descr.ptr())->type_num;
    is_integer = PyTypeNum_ISINTEGER(type) && operand.type.data.code != dlpack::kOpaque;
    is_signed = PyTypeNum_ISSIGNED(type);
  } else {
    const dlpack::DataType type = operand.type.data;
    is_signed = type.code == dlpack::kInt;
    is_integer = (is_signed || type.code == dlpack::kUInt) && type.bits % 8 == 0;
  }
  if (is_integer) {
    for (int type = 0; type < 8; ++type) {
      const auto candidate = static_cast<IndexType>(type);
      if (index_size(candidate) == operand.view.item && index_is_signed(candidate) == is_signed) return candidate;
    }
  }
  throw DTypeError("index has dtype " + operand.type.name() +
                   ", expected an integer dtype (int8 to int64, uint8 to uint64)" + next_step(operand));
}

// Sets the location of a tensor that is not in plain host memory. A tensor without memory is rejected when it is
// borrowed.
void locate_tensor(Operand& operand) {
  dlpack::Tensor tensor{};
  if (dlpack::torch().api->tensor_from_object(operand.object.ptr(), &tensor) != 0) {
    PyErr_Clear();
  } else if (tensor.device.type != dlpack::kCpu) {
    operand.location = std::make_shared<DeviceLocation>();
    operand.location->device = tensor.device;
  }
}

// Unpacks what gatherscatter._libraries.adopt returned for an object whose type the binding does not read itself.
void unpack_adopted(Operand& operand) {
  static PyObject* adapter = nullptr;
  static PyObject* values = nullptr;
  static PyObject* wide = nullptr;
  PyObject* const adapter_type = kept_part(adapter, "gatherscatter._libraries.device_adapter", "DeviceAdapter");
  PyObject* const values_type = kept_part(values, "gatherscatter._libraries.of_python", "LiteralArray");
  PyObject* const wide_type = kept_part(wide, "gatherscatter._libraries.of_python", "BigIntegers");
  if (reinterpret_cast<PyObject*>(Py_TYPE(operand.object.ptr())) == values_type) {
    operand.object = python::attribute(operand.object, "array");
    operand.is_value = true;
  }
  if (reinterpret_cast<PyObject*>(Py_TYPE(operand.object.ptr())) == wide_type) {
    operand.wide = python::attribute(operand.object, "values");
    operand.object = python::attribute(operand.object, "array");
  }
  if (reinterpret_cast<PyObject*>(Py_TYPE(operand.object.ptr())) == adapter_type) {
    operand.location = std::make_shared<DeviceLocation>();
    operand.location->device = {dlpack::kCuda, python::attribute(operand.object, "device").cast<int>()};
    operand.location->adapter = operand.object;
  } else if (py::isinstance<dlpack::ExchangedArray>(operand.object)) {
    const auto& array = py::cast<const dlpack::ExchangedArray&>(operand.object);
    if (array.device().type == dlpack::kCpu) return;
    operand.location = std::make_shared<DeviceLocation>();
    operand.location->device = array.device();
    // The producer of managed memory was called without a stream, which in DLPack means the default stream.
    operand.location->stream = array.device_memory() ? array.device_memory()->stream : dlpack::kLegacyStream;
  }
}

}  // namespace

const char* role_name(Role role) {
  switch (role) {
    case Role::data: return "input";
    case Role::index: return "index";
    case Role::mask: return "mask";
    case Role::fill: return "fill_value";
    case Role::source: return "src";
    case Role::out: return "out";
  }
  return "";
}

bool Operand::on_device() const {
  return location != nullptr && location->device.type == dlpack::kCuda;
}

dlpack::DataType type_of(py::handle descr) {
  return dlpack_type(reinterpret_cast<PyArray_Descr*>(descr.ptr()));
}

int64_t item_of(py::handle descr) {
  if (!PyArray_DescrCheck(descr.ptr())) throw DTypeError("expected a NumPy dtype");
  check_references(reinterpret_cast<PyArray_Descr*>(descr.ptr()), "array");
  return PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(descr.ptr()));
}

Number number_of(dlpack::DataType data) {
  const auto sized = [&](Number n8, Number n16, Number n32, Number n64) {
    return data.bits == 8 ? n8 : data.bits == 16 ? n16 : data.bits == 32 ? n32 : data.bits == 64 ? n64 : Number::none;
  };
  constexpr Number kNone = Number::none;
  switch (data.code) {
    case dlpack::kBool: return sized(Number::boolean, kNone, kNone, kNone);
    case dlpack::kInt: return sized(Number::i8, Number::i16, Number::i32, Number::i64);
    case dlpack::kUInt: return sized(Number::u8, Number::u16, Number::u32, Number::u64);
    case dlpack::kFloat: return sized(kNone, Number::f16, Number::f32, Number::f64);
    case dlpack::kBfloat: return sized(kNone, Number::bf16, kNone, kNone);
    case dlpack::kComplex: return data.bits == 128 ? Number::c128 : sized(kNone, kNone, kNone, Number::c64);
    case dlpack::kFloat8E3M4: return Number::f8_e3m4;
    case dlpack::kFloat8E4M3: return Number::f8_e4m3;
    case dlpack::kFloat8E4M3B11FNUZ: return Number::f8_e4m3b11fnuz;
    case dlpack::kFloat8E4M3FN: return Number::f8_e4m3fn;
    case dlpack::kFloat8E4M3FNUZ: return Number::f8_e4m3fnuz;
    case dlpack::kFloat8E5M2: return Number::f8_e5m2;
    case dlpack::kFloat8E5M2FNUZ: return Number::f8_e5m2fnuz;
    default: return kNone;
  }
}

Number number_of(const ElementType& type) {
  if (const Number number = number_of(type.data); number != Number::none || !type.descr) return number;
  // The dtypes that ml_dtypes adds to NumPy have no fixed type number, only a name.
  auto* descr = reinterpret_cast<PyArray_Descr*>(type.descr.ptr());
  if (!PyTypeNum_ISUSERDEF(descr->type_num)) return Number::none;
  const std::string name =
      python::attribute(reinterpret_cast<PyObject*>(descr->typeobj), "__name__").cast<std::string>();
  static constexpr std::pair<const char*, Number> kNames[] = {
      {"bfloat16", Number::bf16},           {"float8_e3m4", Number::f8_e3m4},
      {"float8_e4m3", Number::f8_e4m3},     {"float8_e4m3b11fnuz", Number::f8_e4m3b11fnuz},
      {"float8_e4m3fn", Number::f8_e4m3fn}, {"float8_e4m3fnuz", Number::f8_e4m3fnuz},
      {"float8_e5m2", Number::f8_e5m2},     {"float8_e5m2fnuz", Number::f8_e5m2fnuz},
  };
  for (const auto& [known, number] : kNames) {
    if (name == known) return number;
  }
  return Number::none;
}

bool ElementType::matches(const ElementType& other) const {
  if (descr && other.descr) {
    return descr.is(other.descr) || PyArray_EquivTypes(reinterpret_cast<PyArray_Descr*>(descr.ptr()),
                                                       reinterpret_cast<PyArray_Descr*>(other.descr.ptr()));
  }
  if (data == other.data && data.code != dlpack::kOpaque) return true;
  // A dtype such as bfloat16 may be a NumPy dtype in one array and a DLPack code in the other.
  const Number number = number_of(*this);
  return number != Number::none && number == number_of(other);
}

std::string ElementType::name() const {
  return descr ? python::text_of(descr) : dlpack::dtype_name(data);
}

void adopt(py::handle op, Role role, py::handle object, Operand& operand) {
  if (object.is_none()) return;
  operand.given = true;
  if (PyArray_CheckExact(object.ptr())) {
    operand.object = py::reinterpret_borrow<py::object>(object);
  } else if (dlpack::torch().is_tensor(object.ptr())) {
    operand.object = py::reinterpret_borrow<py::object>(object);
    operand.library = Library::torch;
    locate_tensor(operand);
    return;
  } else {
    static PyObject* adopt = nullptr;
    PyObject* const hook = kept_part(adopt, "gatherscatter._libraries.adopt", "adopt");
    const py::object word = py::str(role_name(role));
    const auto adopted = py::reinterpret_borrow<py::tuple>(python::call(hook, op, word, object));
    operand.object = adopted[0];
    operand.original = py::reinterpret_borrow<py::object>(object);
    if (!adopted[1].is_none()) operand.wrap = adopted[1];
    unpack_adopted(operand);
    if (dlpack::torch().is_tensor(operand.object.ptr())) {
      operand.library = Library::torch;
      locate_tensor(operand);
      return;
    }
    if (!PyArray_Check(operand.object.ptr())) {
      operand.library = Library::dlpack;
      return;
    }
  }
  if (role == Role::index) make_native(operand);
}

void borrow(Role role, Operand& operand) {
  switch (operand.library) {
    case Library::numpy: borrow_ndarray(role, operand); break;
    case Library::torch: borrow_torch(role, operand); break;
    case Library::dlpack: borrow_dlpack(operand); break;
  }
  if (role == Role::index) operand.view.type = index_type_of(operand);
}

py::object as_opaque_ndarray(const ArrayView& view) {
  PyArray_Descr* descr = PyArray_DescrNewFromType(NPY_VOID);
  PyDataType_SET_ELSIZE(descr, view.item);
  PyObject* array =
      PyArray_NewFromDescr(&PyArray_Type, descr, view.rank(), reinterpret_cast<const npy_intp*>(view.extent.data()),
                           reinterpret_cast<const npy_intp*>(view.stride.data()), view.data, 0, nullptr);
  if (array == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(array);
}

py::object python_part(const char* module, const char* name) {
  return python::part(module, name);
}

PyObject* kept_part(PyObject*& place, const char* module, const char* name) {
  if (place == nullptr) {
    py::object made = python_part(module, name);  // may run other threads, which may keep it meanwhile
    if (place == nullptr) place = made.release().ptr();
  }
  return place;
}

}  // namespace gs
