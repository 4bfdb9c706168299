// CMake makes the headers that all unit tests share from this file.
