# Fails, with a message that names the component.
cmake_minimum_required(VERSION 3.25)
find_package(stout 0.1 REQUIRED COMPONENTS papyrus)
